export const handler = 'accounts';
