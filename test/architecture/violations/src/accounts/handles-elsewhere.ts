import { QueryHandler } from '@nestjs/cqrs';

@QueryHandler(Object)
export class HandlesElsewhere {}
