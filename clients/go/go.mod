module example.org/candidate-eligibility/partner

go 1.19
