declare module 'virtual:field-rules' {
  /** JSON Schemas of the OpenAPI document by name. */
  const schemas: Record<string, unknown>;
  export default schemas;
}
