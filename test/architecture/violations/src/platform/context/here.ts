export const here = 'context';
