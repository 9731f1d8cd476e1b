import { isEmail, isISO31661Alpha2 } from 'class-validator';
import { declareFaults } from '../errors.js';
import { parseUrl } from '../urls.js';
import { characterFault, fault, text, type Rule } from './rules.js';
import { suggesting } from './suggesting.js';
import { TIME_ZONE_LINKS } from './time-zone-links.js';

declareFaults({
  url_invalid: ['The value is not a valid URL.', 'Send an absolute URL.'],
  email_invalid: ['The value is not an e-mail address.', 'Send one e-mail address, such as ada@example.org.'],
  country_invalid: [
    'The value is not a country code.',
    'Send a two-letter ISO 3166-1 alpha-2 code, in upper or lower case.',
  ],
  base64_invalid: ['The value is not valid base64.', 'Send standard base64 with padding (RFC 4648 §4).'],
  time_zone_invalid: [
    'The value is not the name of a time zone.',
    'Send UTC or an IANA name with a slash, such as America/New_York. Short names such as EST and Japan are refused.',
  ],
});

/** Returns the rule for an absolute http or https address. */
export function httpUrl(max = 2000): Rule {
  return text({
    min: 1,
    max,
    code: 'url_invalid',
    form: 'Must be an absolute http or https URL.',
    format: 'uri',
    accepts: (value) => /^https?:\/\/\S+$/i.test(value) && parseUrl(value) !== null,
  });
}

export function email(): Rule {
  return text({
    max: 254,
    code: 'email_invalid',
    form: 'Must be an e-mail address.',
    // In the OpenAPI document, a pattern for e-mail addresses replaces JSON Schema's `email` format, which only allows
    // ASCII. RFC 6531 allows letters of every script.
    portable: /^[^\x00-\x1f\x7f-\x9f]+@[^@\x00-\x20\x7f-\xa0]+\.[^@\x00-\x20\x7f-\xa0]+$/,
    accepts: (value) => isEmail(value),
    example: 'ada@example.org',
  });
}

/**
 * Returns the rule for an ISO 3166-1 alpha-2 country code, in upper or lower case. All other texts are reported with
 * the same fault code.
 */
export function country(): Rule {
  return {
    schema: { type: 'string', minLength: 2, maxLength: 2, pattern: '^[A-Za-z]{2}$', example: 'US' },
    faults(value) {
      if (typeof value !== 'string') return [fault('type_invalid', 'Must be a string.')];
      const character = characterFault(value);
      if (character) return [character];
      return /^[A-Za-z]{2}$/.test(value) && isISO31661Alpha2(value)
        ? []
        : [fault('country_invalid', 'Must be a two-letter code of ISO 3166-1 alpha-2.')];
    },
  };
}

const TIME_ZONES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('timeZone'));

const BY_LETTERS: ReadonlyMap<string, string> = new Map(
  [...TIME_ZONES, ...TIME_ZONE_LINKS].filter(isTimeZone).map((name) => [lettersOf(name), name]),
);

/**
 * Returns the rule for the name of an IANA time zone that Node.js supports, in the form Area/Location. If the name is
 * misspelled, the fault suggests the right spelling.
 */
export function timeZone(): Rule {
  return suggesting(
    text({
      min: 1,
      max: 64,
      code: 'time_zone_invalid',
      form: 'Must be UTC or an IANA time zone name with a slash, such as America/New_York.',
      description: 'UTC or an IANA name with a slash; names without one, such as EST and Japan, are refused.',
      // The pattern excludes offsets ("+01:00") and abbreviations, which Intl also accepts. Time zone names in the tz
      // database have an area and a location.
      pattern: /^(UTC|[A-Z][A-Za-z_]+(\/[A-Z][A-Za-z0-9_+-]*)+)$/,
      accepts: isTimeZone,
      example: 'America/New_York',
    }),
    'time_zone_invalid',
    (name) => BY_LETTERS.get(lettersOf(name)) ?? null,
  );
}

function lettersOf(name: string): string {
  return name.trim().toLowerCase().replaceAll(/[\s-]/g, '_');
}

/**
 * Returns whether the name is spelled as in the tz database. A check by Intl alone is not sufficient: Intl ignores
 * case, and accepts additional names.
 */
function isTimeZone(name: string): boolean {
  return name === 'UTC' || TIME_ZONES.has(name) || TIME_ZONE_LINKS.has(name);
}
