import { Query } from '@nestjs/cqrs';

/** A text that changes whenever an import begins, goes on or ends. */
export class MarkImports extends Query<string> {}
