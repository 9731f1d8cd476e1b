export const here = 'error-queue';
