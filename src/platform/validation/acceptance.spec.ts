import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { ValidateBy, validateSync } from 'class-validator';
import fc from 'fast-check';
import { accepted } from './acceptance';
import { Field, ObjectField, ObjectListField } from './fields';
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

class Person {
  @Field(text({ min: 2, max: 3 }), { required: true })
  name: string;

  @Field(integer(0, 9))
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

class WithRuleOfItsOwn {
  @ValidateBy({ name: 'even', validator: { validate: (value) => (value as number) % 2 === 0 } })
  @Field(integer(0, 9), { required: true })
  count: number;
}

/** Sound values, nearly sound ones and nonsense, at every level. */
const oddly = <T>(sound: fc.Arbitrary<T>) =>
  fc.oneof(
    { arbitrary: sound, weight: 40 },
    fc.constantFrom(null, undefined, '', 7, 'xxxxx', '\u0000', [], {}, [null]),
  );
const members = <T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc
    .tuple(
      fc.oneof(fc.record(model), fc.record(model, { requiredKeys: [] })),
      fc.constantFrom({}, {}, {}, {}, { stray: 1 }, { stray: null }),
    )
    .map(([record, stray]) => ({ ...record, ...stray }));
const phone = members({
  number: oddly(fc.constantFrom('1', '123', '1234', '😀😀😀')),
  mobile: oddly(fc.boolean()),
});
const address = members({ city: oddly(fc.constantFrom('Rom', '   ', 'Genova')), phone: oddly(phone) });
const person = {
  name: oddly(fc.constantFrom('Al', 'Ada', '😀', '😀😀😀')),
  age: oddly(fc.integer({ min: 0, max: 9 })),
  kind: oddly(fc.constantFrom('A', 'B')),
  tags: oddly(fc.array(fc.constantFrom('a', 'bb', 'ccc'), { maxLength: 3 })),
  address: oddly(address),
  phones: oddly(fc.array(phone, { maxLength: 3 })),
};

describe('a value is accepted as an instance of its class', () => {
  it.each([
    { dto: Person, values: members(person) },
    { dto: Descendant, values: members({ ...person, order: oddly(fc.integer({ min: 0, max: 9 })) }) },
  ])('exactly when class-validator finds no fault in it: $dto.name', ({ dto, values }) => {
    let sound = 0;
    fc.assert(
      fc.property(values, (value: Record<string, unknown>) => {
        const instance = plainToInstance<Person, object>(dto, Object.fromEntries(Object.entries(value)));
        const errors = validateSync(instance, { whitelist: true, forbidNonWhitelisted: true });
        const result = accepted<Person>(dto, value);
        expect(result === null).toBe(errors.length > 0);
        if (result === null) return;
        sound++;
        expect(result).toStrictEqual(instance);
      }),
      { numRuns: 5_000 },
    );
    // Values of both kinds were seen.
    expect(sound).toBeGreaterThan(20);
    expect(sound).toBeLessThan(4_950);
  });

  it('never, when the class has rules beside those of its fields', () => {
    expect(accepted(WithRuleOfItsOwn, { count: 2 })).toBeNull();
  });
});
