export const here = 'audit';
