export * from '../../../src/service';
