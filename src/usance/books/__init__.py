"""Books: from loan facts and group facts to exact journals under US GAAP and IFRS."""
