"""The command `nmt clean`: rules that drop or mend the pairs of a parallel corpus."""
