export const here = 'changes';
