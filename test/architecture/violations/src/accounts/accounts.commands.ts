export const command = 'accounts';
