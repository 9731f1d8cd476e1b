export const joined = (column: string): string => `${column} LEFT JOIN eligibilities e USING (${column})`;
