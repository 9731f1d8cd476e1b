export const here = 'partner-side';
