export const here = 'unit-of-work';
