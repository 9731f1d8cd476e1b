import 'reflect-metadata';
import { Field, ObjectField, ObjectListField, ReadOnlyMembers, TolerantReader } from './fields';
import { inspectBody, nearestHint, readParameters } from './members';
import { Faults } from './faults';
import { boolean, integer, listOf, oneOf, text } from './rules';

class Phone {
  @Field(text({ min: 1, max: 3 }), { required: true })
  number: string;

  @Field(boolean())
  mobile?: boolean | null;
}

class Address {
  @Field(text({ max: 4, notBlank: true }))
  city?: string | null;

  @ObjectField(() => Phone, { required: true })
  phone: Phone;
}

@ReadOnlyMembers('status')
class Person {
  @Field(text({ min: 2, max: 3 }), { required: true })
  name: string;

  @Field<{ age: unknown; name: unknown }>(integer(0, 9), {
    agreements: [{ code: 'age_of_ada', detail: 'Ada is 7.', holds: ({ age, name }) => name !== 'Ada' || age === 7 }],
  })
  age?: number | null;

  @Field(oneOf(['A', 'B'], 'kind_invalid'))
  kind?: string | null;

  @Field(listOf(text({ max: 2 }), 2))
  tags?: string[] | null;

  @ObjectField(() => Address)
  address?: Address | null;

  @ObjectListField(() => Phone, 2)
  phones?: Phone[] | null;
}

class Descendant extends Person {
  @Field(integer(0, 9), { required: true })
  order: number;
}

@TolerantReader()
class Driver {
  @Field(integer(0, 9))
  count?: number | null;

  @ObjectListField(() => Phone, 2)
  phones?: Phone[] | null;
}

const codesOf = (dto: new () => object, value: unknown) =>
  inspectBody(dto, value).faults.list.map(({ pointer, code }) => `${pointer} ${code}`);

describe('the body of a request', () => {
  it('converts a valid body to an instance of its class, with nested instances, and omits ignored members', () => {
    const value = {
      ...{ name: 'Ada', age: 7, kind: null, status: { any: ['thing'] } },
      address: { phone: { number: '1' } },
      phones: [{ number: '2', mobile: true }],
    };
    const { body, faults } = inspectBody(Person, value);
    expect(faults.list).toEqual([]);
    expect(body).toBeInstanceOf(Person);
    expect(body.address).toBeInstanceOf(Address);
    expect(body.address!.phone).toBeInstanceOf(Phone);
    expect(body.phones![0]).toBeInstanceOf(Phone);
    expect(body).toEqual({ name: 'Ada', age: 7, kind: null, address: value.address, phones: value.phones });
    expect(body.tags).toBeUndefined();
  });

  it('reports every fault of a request body, at every level, unknown members first', () => {
    expect(
      codesOf(Descendant, {
        ...{ name: 'A', age: 10, kind: 'C', tags: ['abc', null], nmae: 1, status: '\u0000' },
        address: { city: ' ', 'a/b~c': 1 },
        phones: [{ number: '1', mobile: 1 }, 7],
      }),
    ).toEqual([
      '/nmae unknown_field',
      '/status control_character',
      '/name too_short',
      '/age out_of_range',
      '/kind kind_invalid',
      '/tags/0 too_long',
      '/tags/1 type_invalid',
      '/address/a~1b~0c unknown_field',
      '/address/city blank',
      '/address/phone required',
      '/phones/1 type_invalid',
      '/phones/0/mobile type_invalid',
      '/order required',
    ]);
  });

  it('does not check the members of a request body that is not an object', () => {
    expect(codesOf(Person, { name: 'Al', address: [], phones: [{}, {}, {}] })).toEqual([
      '/address type_invalid',
      '/phones too_many',
    ]);
    expect(codesOf(Person, undefined)).toEqual([' required']);
    for (const value of [null, [], 'text', 7]) expect(codesOf(Person, value)).toEqual([' type_invalid']);
  });

  it('reports members of a request body that contradict each other', () => {
    expect(codesOf(Person, { name: 'Ada', age: 8 })).toEqual(['/age age_of_ada']);
    expect(codesOf(Person, { name: 'Ada' })).toEqual([]);
  });

  it('a member with the name of a property that every JavaScript object inherits is reported as unknown', () => {
    const value = JSON.parse(
      '{"name":"Al","__proto__":{},"constructor":1,"address":{"toString":1,"phone":{"number":"1"}}}',
    );
    expect(codesOf(Person, value)).toEqual([
      '/__proto__ unknown_field',
      '/constructor unknown_field',
      '/address/toString unknown_field',
    ]);
  });

  it('suggests the nearest known name for an unknown member', () => {
    const [fault] = inspectBody(Person, { name: 'Al', adress: {} }).faults.list;
    expect(fault.detail).toBe('There is no such member. Did you mean "address"?');
  });

  it.each<[string, string, string[]]>([
    ['portions', 'portion_codes', ['test_code', 'portion_codes', 'voucher_codes']],
    ['Vouchers', 'voucher_codes', ['test_code', 'portion_codes', 'voucher_codes']],
    ['stat', 'status', ['status', 'test_code', 'limit']],
    ['statuses', 'status', ['status', 'test_code', 'limit']],
    ['candidateId', 'candidate_id', ['candidate', 'candidate_id']],
    ['CANDIDATE-ID', 'candidate_id', ['candidate', 'candidate_id']],
  ])('for the unknown name %s, suggests the similar name %s, ignoring case and separators', (name, meant, known) => {
    expect(nearestHint(name, known)).toBe(` Did you mean "${meant}"?`);
  });

  it('if an unknown name resembles a member of a nested object, suggests this member and names the object', () => {
    const faults = inspectBody(Person, { name: 'Al', Num_ber: {}, phone: {} }).faults.list;
    expect(faults.map(({ detail }) => detail)).toEqual([
      'There is no such member. Did you mean "number" in "phones"?',
      'There is no such member. Did you mean "phone" in "address"?',
    ]);
  });

  it('stops checking a body after the maximum number of faults', () => {
    const { faults } = inspectBody(Person, Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`x${n}`, n])));
    expect(faults.list).toHaveLength(101);
    expect(faults.isFull).toBe(true);
  });

  it('returns a body unchanged if its class accepts unknown members, but reports invalid known members and forbidden characters', () => {
    const value = { count: 3, extra: { any: '\u0001' }, phones: [{ number: '1', more: 1 }] };
    expect(inspectBody(Driver, value).body).toBe(value);
    expect(codesOf(Driver, value)).toEqual([]);
    expect(
      codesOf(Driver, { count: 'x', extra: { text: '\u0000', '\ud800': 1 }, phones: [{ number: '1234' }] }),
    ).toEqual([
      '/count type_invalid',
      '/phones/0/number too_long',
      '/extra/text control_character',
      '/extra/\ud800 lone_surrogate',
    ]);
  });
});

describe('the parameters of a request', () => {
  class Query {
    @Field(integer(0, 9), { required: true })
    limit: number;

    @Field(text({ max: 3 }))
    name?: string;
  }
  const codesOf = (value: Record<string, unknown>, strict: boolean) => {
    const faults = new Faults();
    readParameters(Query, value, strict, faults);
    return faults.list.map(({ parameter, code }) => `${parameter} ${code}`);
  };

  it('an error about a query parameter names the parameter', () => {
    expect(codesOf({ name: 'abcd' }, true)).toEqual(['limit required', 'name too_long']);
    expect(codesOf({ limit: 1, name: ['a', 'b'] }, true)).toEqual(['name type_invalid']);
  });

  it('reports unknown query parameters on a route that refuses them', () => {
    expect(codesOf({ limit: 1, nmae: 'a' }, false)).toEqual([]);
    expect(codesOf({ limit: 1, nmae: 'a' }, true)).toEqual(['nmae unknown_parameter']);
  });
});
