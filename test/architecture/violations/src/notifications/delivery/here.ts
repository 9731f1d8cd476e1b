export const here = 'delivery';
