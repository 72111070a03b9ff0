import js from "@eslint/js";

/** What would read text as markup, or as a program: all text on the page is text. */
const MARKUP = ["innerHTML", "outerHTML", "insertAdjacentHTML", "createContextualFragment"];

export default [
  js.configs.recommended,
  {
    rules: {
      "no-undef": "off", // tsc knows the browser's names
      "no-unused-vars": ["error", { args: "after-used", argsIgnorePattern: "^_|^event$" }],
      "no-control-regex": "off",
      "no-var": "error",
      "prefer-const": "error",
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-properties": [
        "error",
        { object: "document", property: "write" },
        ...MARKUP.map((property) => ({ property })),
      ],
    },
  },
];
