export const here = 'observability';
