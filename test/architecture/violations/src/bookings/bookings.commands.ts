export const command = 'bookings';
