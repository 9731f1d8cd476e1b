export const here = 'overload';
