// What the page does beyond links and forms. Everything works without it.
"use strict";
