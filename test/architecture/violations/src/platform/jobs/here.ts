export const here = 'jobs';
