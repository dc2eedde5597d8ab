module shopd

go 1.25
