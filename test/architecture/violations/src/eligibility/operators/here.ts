export const here = 'operators';
