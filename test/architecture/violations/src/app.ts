export const app = 'top';
