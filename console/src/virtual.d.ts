declare module 'virtual:field-rules' {
  /** The JSON Schemas in the OpenAPI document, by name. */
  const schemas: Record<string, unknown>;
  export default schemas;
}
