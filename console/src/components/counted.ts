/** Returns a count with its noun in the singular or the plural, such as "1 row" or "1,000 rows". */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
