export const here = 'events';
