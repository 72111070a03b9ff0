"""Options of search beyond beam, length penalty and sampling."""
