declare module 'virtual:field-rules' {
  /** JSON Schemas by their name, as the OpenAPI document has them. */
  const schemas: Record<string, unknown>;
  export default schemas;
}
