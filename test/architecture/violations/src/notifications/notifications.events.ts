export const event = 'notifications';
