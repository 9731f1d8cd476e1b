export const here = 'partner';
