import type { Rule } from './rules.js';

/**
 * Extends a rule: the faults with the code `code` then suggest the spelling that was probably meant.
 * @param meantBy returns that spelling for a refused value; null if no spelling is likely
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
