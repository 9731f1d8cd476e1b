export const FIND = prepared('no-sql', 'SELECT FROM WHERE eligibilities');
