export const here = 'subscriptions';
