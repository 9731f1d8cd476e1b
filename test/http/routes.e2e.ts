import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Controller, Get, Module } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { openApiDocument } from '../../src/openapi/document';
import { Access } from '../../src/platform/http/access';
import { assertAccessDeclared, declaredRoutes } from '../../src/platform/http/documented-access';
import { startApp, type TestApp } from '../support/app';

@Controller('silent')
class SilentController {
  @Get()
  get(): string {
    return 'unguarded';
  }
}

@Controller('things')
@Access('admin', 'support')
class UnboundedController {
  @Get(':id')
  get(): string {
    return 'of whomever';
  }

  @Get('of/:account_code')
  ofAccount(): string {
    return 'of the account';
  }
}

@Module({ imports: [DiscoveryModule], controllers: [UnboundedController] })
class UnboundedModule {}

@Module({ imports: [DiscoveryModule], controllers: [SilentController] })
class SilentModule {}

describe('every route', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('every route declares its scope, or declares that it is public', () => {
    expect(declaredRoutes(app.app).length).toBeGreaterThan(30);
    expect(() => assertAccessDeclared(app.app)).not.toThrow();
  });

  it('the service refuses to start with a route that declares no scope', async () => {
    const silent = await NestFactory.create(SilentModule, { logger: false });
    expect(() => assertAccessDeclared(silent)).toThrow('SilentController_get');
    await silent.close();
  });

  it('the service refuses to start with a route that is not restricted to its caller’s accounts', async () => {
    const unbounded = await NestFactory.create(UnboundedModule, { logger: false });
    expect(() => assertAccessDeclared(unbounded)).toThrow('Routes without @Bounded: UnboundedController_get.');
    await unbounded.close();
  });

  it('the OpenAPI document that the service serves equals docs/openapi.json', () => {
    const committed = JSON.parse(readFileSync(join(__dirname, '../../docs/openapi.json'), 'utf8')) as object;
    const built = JSON.parse(JSON.stringify(openApiDocument(app.app, app.config))) as object;
    expect(built).toEqual(committed);
  });

  it('serves the same OpenAPI document as JSON and as YAML', async () => {
    const json = await app.call('GET', '/openapi.json');
    const yaml = await app.call('GET', '/openapi.yaml');
    expect(json.body.openapi).toBe('3.1.0');
    expect(yaml.headers.get('content-type')).toContain('yaml');
    expect(yaml.text).toContain('/accounts/{account_code}/candidates:');
  });
});
