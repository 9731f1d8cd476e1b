import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * All context values share one storage, because Node 20 copies each storage to every promise. A second storage would
 * measurably slow down the service.
 */
const storage = new AsyncLocalStorage<ReadonlyMap<ContextValue<unknown>, unknown>>();

/** A value that the current work can read after every await, without passing it along. */
export class ContextValue<T> {
  get current(): T | undefined {
    return storage.getStore()?.get(this) as T | undefined;
  }

  /** Runs `work` with this value. Code outside `work` keeps the previous value. */
  run<Result>(value: T, work: () => Result): Result {
    return storage.run(new Map(storage.getStore()).set(this, value), work);
  }
}
