// The public interface of the package.
export { TokenError, type Credentials } from './access-token.js';
export {
  EligibilityClient,
  type Change,
  type ChangePage,
  type ClientOptions,
  type ImportOptions,
  type ImportProgress,
} from './eligibility-client.js';
export type { components, operations, paths } from './openapi.js';
export { ProblemError, type Problem } from './problem-error.js';
export type { Retries } from './repeating-fetch.js';
