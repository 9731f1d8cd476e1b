export const home = 'an area';
