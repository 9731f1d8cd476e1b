import type { Option } from './fields';

/** A filter of a list. */
export interface Filter {
  /** The name of the filter as a query parameter, in the page's address and in the API. */
  name: string;
  label: string;
  /** The options of the filter. The filter shows the option "any" before them. */
  options?: readonly Option[];
  /**
   * A hook that loads the options of the filter. There may be many options, so the user finds an option by typing a
   * part of its name.
   */
  useOptions?: () => readonly Option[];
  /** Whether the values of the loaded options are codes that users know. */
  hasCodes?: boolean;
  type?: 'text' | 'moment';
  /** Whether the `/` key focuses this filter. */
  main?: boolean;
}
