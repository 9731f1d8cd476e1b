import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The only AsyncLocalStorage of the process; all context values share it. Node 20 copies each storage to every promise,
 * so a second storage would measurably slow down the service.
 */
const storage = new AsyncLocalStorage<ReadonlyMap<ContextValue<unknown>, unknown>>();

/**
 * A value that the code of the current request or job can read at any time, even after an await, without receiving the
 * value as a parameter.
 */
export class ContextValue<T> {
  get current(): T | undefined {
    return storage.getStore()?.get(this) as T | undefined;
  }

  /** Runs `work` with this context value set to `value`. Code outside `work` keeps the previous value. */
  run<Result>(value: T, work: () => Result): Result {
    return storage.run(new Map(storage.getStore()).set(this, value), work);
  }
}
