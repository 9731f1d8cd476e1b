export const module = 'accounts';
