export const here = 'validation';
