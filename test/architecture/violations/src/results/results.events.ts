export const event = 'results';
