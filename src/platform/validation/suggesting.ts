import type { Rule } from './rules.js';

/**
 * Extends the faults with one code by the spelling that was probably meant.
 * @param meantBy returns that spelling; null if none is likely
 */
export function suggesting(rule: Rule, code: string, meantBy: (value: string) => string | null): Rule {
  return {
    ...rule,
    faults: (value) =>
      rule.faults(value).map((found) => {
        const meant = found.code === code ? meantBy(String(value)) : null;
        return meant === null ? found : { ...found, detail: `${found.detail} Did you mean "${meant}"?` };
      }),
  };
}
