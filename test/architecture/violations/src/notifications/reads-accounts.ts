export const known = (database: { query(text: string): unknown }) => database.query('SELECT 1 FROM accounts');
