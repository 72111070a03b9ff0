def score(h, v, s, p, c=None):
    w_a = p["location.weight"]
    return (w_a @ h)[s] if s < len(w_a) else None
