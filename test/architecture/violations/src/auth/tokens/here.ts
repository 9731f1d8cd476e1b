export const here = 'tokens';
