"""What an IPU would do with a Poplar program: its time, its memory, summaries and profiles."""
