export const here = 'administration';
