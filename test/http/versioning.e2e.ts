import { Controller, Get, Module, Query, Res } from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiOperation, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { Response } from 'express';
import { Config } from '../../src/config';
import { describeHeaders } from '../../src/openapi/headers';
import { Deprecated } from '../../src/platform/http/deprecated';
import { HttpConfig } from '../../src/platform/http/http.config';
import { linkNext } from '../../src/platform/http/paging';

const { http } = new Config({ BASE_URL: 'https://service.example', NODE_ENV: 'test' });

@Controller('things')
class ThingsController {
  @Get()
  @Deprecated({ since: '2027-01-31', sunset: '2028-01-31' })
  @ApiOperation({ summary: 'The things' })
  list(@Query('fail') fail: string, @Res({ passthrough: true }) response: Response): string[] {
    if (fail) throw new Error('planted');
    linkNext(response, 'cursor', 'next');
    return [];
  }

  @Get('of-now')
  @ApiOperation({ summary: 'What stays' })
  stay(): string[] {
    return [];
  }
}

@Module({
  imports: [DiscoveryModule],
  controllers: [ThingsController],
  providers: [{ provide: HttpConfig, useValue: http }],
})
class PlantedModule {}

let app: NestExpressApplication;
beforeAll(async () => {
  app = await NestFactory.create<NestExpressApplication>(PlantedModule, { logger: false });
  app.setLocal('http', http);
  await app.listen(0, '127.0.0.1');
});
afterAll(() => app.close());

const headersOf = async (path: string) => {
  const { headers } = await fetch((await app.getUrl()) + path);
  return ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
};

it('responses of a deprecated route have headers with the dates of deprecation and removal, and a link to the policy', async () => {
  const policy = '<https://service.example/guide/versioning.html>; rel="deprecation"; type="text/html"';
  const [deprecation, sunset, link] = await headersOf('/things');
  expect([deprecation, sunset]).toEqual(['@1801353600', 'Mon, 31 Jan 2028 00:00:00 GMT']);
  expect(link).toBe(`${policy}, <https://service.example/things?cursor=next>; rel="next"`);
  expect(await headersOf('/things?fail=1')).toEqual([deprecation, sunset, policy]);
  expect(await headersOf('/things/of-now')).toEqual([null, null, null]);
});

it('the OpenAPI document marks only the deprecated route as deprecated', () => {
  const document = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  describeHeaders(document);
  const [gone, stays] = ['/things', '/things/of-now'].map((path) => document.paths[path].get!);
  expect([gone.summary, gone.deprecated, stays.deprecated]).toEqual(['The things', true, undefined]);
  const named = (operation: typeof gone) => Object.keys((operation.responses['200'] as { headers: object }).headers);
  expect(named(gone)).toEqual(expect.arrayContaining(['Deprecation', 'Sunset', 'Link']));
  expect(named(stays)).not.toContain('Deprecation');
});

it('the service refuses to start if a route is to be removed less than 12 months after its deprecation', () => {
  expect(() => Deprecated({ since: '2027-01-31', sunset: '2028-01-30' })).toThrow('12 months');
  expect(() => Deprecated({ since: 'soon', sunset: '2028-01-30' })).toThrow('12 months');
});
